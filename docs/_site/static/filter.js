// Hides the rows of tables whose name lacks the text of the field, and the sections without rows.
const field = document.getElementById("filter");
const count = document.getElementById("filter-count");

function apply() {
  const wanted = field.value.trim().toLowerCase().replace(/^tf\./, "");
  let shown = 0;
  for (const table of document.querySelectorAll("table.names")) {
    let left = 0;
    for (const row of table.tBodies[0].rows) {
      row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
      left += !row.hidden;
    }
    const section = table.closest("section");
    if (section) section.hidden = left === 0;
    shown += left;
  }
  count.textContent = wanted ? `${shown} of them` : "";
}

field.value = new URLSearchParams(location.search).get("q") ?? "";
field.addEventListener("input", apply);
if (field.value) apply();
