// Trains a step that Dovetail has saved as an ONNX model, without Python.
//
//     npm install --ignore-scripts
//     node train.js step.onnx batches.json state.json
//
// batches.json is a list of batches: input → {"dims": [8, 4], "data": [numbers]}, all float32.  state.json has the weights
// in the same form; they are inputs of the step, whose outputs `w.new` are their new values.  Prints the loss of each
// batch, and writes the last weights to state.json.

const fs = require("fs");
const ort = require("onnxruntime-node");

const tensor = ({ dims, data }) => new ort.Tensor("float32", Float32Array.from(data), dims);
const fed = (values) => Object.fromEntries(Object.entries(values).map(([name, value]) => [name, tensor(value)]));

async function main([model, batches, file]) {
  const session = await ort.InferenceSession.create(model);
  let state = fed(JSON.parse(fs.readFileSync(file)));
  for (const batch of JSON.parse(fs.readFileSync(batches))) {
    const results = await session.run({ ...fed(batch), ...state });
    console.log(results.loss.data[0]);
    state = Object.fromEntries(Object.keys(state).map((name) => [name, results[`${name}.new`]]));
  }
  const plain = Object.entries(state).map(([name, { dims, data }]) => [name, { dims, data: [...data] }]);
  fs.writeFileSync(file, JSON.stringify(Object.fromEntries(plain)));
}

main(process.argv.slice(2));
