// Takes part in the rounds of a federated server of Dovetail, without Python.
//
//     npm install --ignore-scripts
//     node federated.js https://127.0.0.1:8443 token.txt certificate.pem data.safetensors last.safetensors
//
// The server gives the ONNX model to compute, and the weights of each round.  The model's other inputs are the tensors of
// data.safetensors, which stay here.  Prints a line for each round, and writes the weights of the end.

const fs = require("fs");
const https = require("https");
const ort = require("onnxruntime-node");

const PATIENCE = 60; // seconds in which the server may be out of reach
const KINDS = {
  F16: ["float16", Uint16Array],
  F32: ["float32", Float32Array],
  F64: ["float64", Float64Array],
  I8: ["int8", Int8Array],
  I16: ["int16", Int16Array],
  I32: ["int32", Int32Array],
  I64: ["int64", BigInt64Array],
  U8: ["uint8", Uint8Array],
  U16: ["uint16", Uint16Array],
  U32: ["uint32", Uint32Array],
  U64: ["uint64", BigUint64Array],
  BOOL: ["bool", Uint8Array],
};
const pause = (seconds) => new Promise((wake) => setTimeout(wake, 1000 * seconds));

// The tensors and the metadata of a safetensors file.
function parse(bytes) {
  const start = 8 + Number(bytes.readBigUInt64LE(0));
  const { __metadata__: metadata = {}, ...table } = JSON.parse(bytes.toString("utf8", 8, start));
  const tensors = Object.entries(table).map(([name, { dtype, shape, data_offsets: [begin, end] }]) => {
    if (!(dtype in KINDS)) throw new Error(`a dtype that this program does not know: ${dtype} of ${name}`);
    const [type, Kind] = KINDS[dtype];
    const copy = Uint8Array.prototype.slice.call(bytes, start + begin, start + end); // typed arrays need alignment
    return [name, new ort.Tensor(type, new Kind(copy.buffer), shape)];
  });
  return { tensors: Object.fromEntries(tensors), metadata };
}

function build(tensors, metadata) {
  const table = { __metadata__: metadata };
  const parts = [];
  let end = 0;
  for (const [name, { type, dims, data }] of Object.entries(tensors)) {
    const dtype = Object.keys(KINDS).find((key) => KINDS[key][0] === type);
    parts.push(Buffer.from(data.buffer, data.byteOffset, data.byteLength));
    table[name] = { dtype, shape: dims.map(Number), data_offsets: [end, (end += data.byteLength)] };
  }
  const header = Buffer.from(JSON.stringify(table));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([length, header, ...parts]);
}

function request(url, options, body) {
  return new Promise((resolve, reject) => {
    const sent = https.request(url, { agent: false, timeout: 60000, ...options }, (answer) => {
      const parts = [];
      answer.on("data", (part) => parts.push(part));
      answer.on("end", () => resolve({ status: answer.statusCode, body: Buffer.concat(parts) }));
      answer.on("error", reject);
    });
    sent.on("timeout", () => sent.destroy(new Error("no answer")));
    sent.on("error", reject);
    sent.end(body);
  });
}

async function main([url, tokenFile, certificate, dataFile, lastFile]) {
  const headers = { Authorization: `Bearer ${fs.readFileSync(tokenFile, "utf8").trim()}` };
  const ca = fs.readFileSync(certificate);
  const ask = async (method, path, body) => {
    for (let tries = 0; ; tries++) {
      try {
        const length = body ? { "Content-Length": body.length } : {};
        const answer = await request(url + path, { method, ca, headers: { ...headers, ...length } }, body);
        if ([200, 204, 409].includes(answer.status)) return answer;
        throw Object.assign(new Error(`the server refuses: ${answer.body}`), { code: "REFUSED" });
      } catch (error) {
        if (/^REFUSED|CERT|VERIFY/.test(error.code) || tries >= PATIENCE) throw error;
        await pause(1);
      }
    }
  };

  const { tensors, metadata } = parse((await ask("GET", "/computation")).body);
  const manifest = JSON.parse(metadata.manifest);
  if (manifest.no_onnx) throw new Error(`no ONNX model: ${manifest.no_onnx}`);
  const session = await ort.InferenceSession.create(tensors["client.onnx"].data);
  const data = parse(fs.readFileSync(dataFile)).tensors;
  const missing = Object.keys(manifest.data).filter((name) => !(name in data));
  if (missing.length) throw new Error(`${dataFile} lacks the tensors ${missing.join(", ")}`);
  const own = Object.fromEntries(Object.keys(manifest.data).map((name) => [name, data[name]]));

  for (;;) {
    const { status, body } = await ask("GET", "/weights");
    if (status === 204) continue; // the others are not ready
    const weights = parse(body);
    if (weights.metadata.done) return fs.writeFileSync(lastFile, body);
    const results = await session.run({ ...weights.tensors, ...own });
    const update = Object.fromEntries(Object.keys(manifest.updates).map((name) => [name, results[`${name}.new`]]));
    const answer = await ask("POST", "/update", build(update, { round: weights.metadata.round }));
    console.log(`round ${Number(weights.metadata.round) + 1}: ${answer.status === 200 ? "sent" : "too late"}`);
  }
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error.message);
  process.exit(1);
});
