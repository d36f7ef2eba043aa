// A load balancer to be judged: fill in what you have, and name it in `operations`.
// Standard output is for messages alone; print with console.error.
import { createInterface } from "node:readline";

const HASHES = 2 ** 32;
const DEFAULT_BUNDLES = 4;

// Operation to a function from one case to its answer. Instead of an answer, for one case:
// {refused: why} where the rules forbid the request, {unsupported: why} where it isn't offered.
const operations = {
  "bundles.create": (asked) => {
    const count =
      asked.bundles ?? asked.settings.defaultNumberOfNamespaceBundles ?? DEFAULT_BUNDLES;
    const width = Math.floor(HASHES / count);
    const boundaries = Array.from({ length: count }, (_, number) => hex(number * width));
    return { boundaries: [...boundaries, "0xffffffff"] };
  },
};

// Bundles to unload in one cycle: add "shed.select": select to operations. The case's "brokers"
// have the usage and the bundles of each broker, its "bundles" the traffic of each bundle: one
// that is missing there, or has "numSamples" 0, counts as 50 msg/s and 50 KB/s each way (DATA-04,
// DATA-05). Its "strategy" is a full class name, its last part ("OverloadShedder"), or null: then
// the setting loadBalancerLoadSheddingStrategy, or its default, names it. The command
//     pulsar-conformance schema shed.select --example
// prints such a case, and the answer to it:
//     {"unload": [{"broker": "b1", "bundle": "shop/eu/0x60000000_0x80000000"}, ...]}
function select(asked) {
  return { unload: [] };
}

// `asked` has the profile and readings by which it will be judged.
function hello(asked) {
  return {
    protocol: 1,
    name: "my-balancer",
    version: "0.1",
    batch: 1000,
    manager: "modular",
    operations: Object.keys(operations),
    strategies: [], // with shed.select: full class names, or "OverloadShedder" and so on
    algorithms: [], // split algorithms, once bundles.split is offered
    readings: {}, // readings that you follow, by name; the profile decides the others
    neutral: {}, // settings that change nothing here, each with why
  };
}

function hex(number) {
  return "0x" + number.toString(16).padStart(8, "0");
}

// What breaks on one case is the failure of that case alone.
function answer(operation, asked) {
  try {
    return operations[operation](asked);
  } catch (error) {
    return { failed: String(error) };
  }
}

function reply(message) {
  if (message.ask === "hello") return { id: message.id, answer: hello(message) };
  if (!Object.hasOwn(operations, message.ask)) {
    const error = { code: "unknown-operation", message: `${message.ask} is not offered` };
    return { id: message.id, error };
  }
  return { id: message.id, answers: message.cases.map((asked) => answer(message.ask, asked)) };
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.ask === "bye") break;
  process.stdout.write(JSON.stringify(reply(message)) + "\n");
}
