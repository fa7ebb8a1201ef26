// The order of hits: pages whose title has all words of the query, guides before made pages, then names.
var Scorer = {
  score: ([page, title, , , score, , kind]) => {
    const words = (new URLSearchParams(location.search).get("q") ?? "").toLowerCase().split(/\W+/).filter(Boolean);
    const hasAll = kind !== "object" && words.every((word) => title.toLowerCase().includes(word));
    return score + (hasAll ? 20 : 0) + (page.startsWith("made/") ? 0 : 2);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
// A browser lets no page of a file read another one, so excerpts need a server.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
