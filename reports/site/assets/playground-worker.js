// Loads Pyodide, the model and the rules, and answers questions one after the other.
import { loadPyodide } from "./vendor/pyodide/pyodide.mjs"

const bytes = async (name) => (await fetch(new URL(name, import.meta.url))).arrayBuffer()

// Each part that has arrived is one of so many.
const PARTS = 5
let arrived = 0
const counted = async (part) => {
  const value = await part
  self.postMessage({ share: (arrived += 1) / PARTS })
  return value
}

const started = (async () => {
  const base = new URL("./vendor/pyodide/", import.meta.url).href
  const [pyodide, model, code] = await Promise.all([
    counted(loadPyodide({ indexURL: base })),
    counted(bytes("vendor/model.zip")),
    counted(fetch(new URL("playground.py", import.meta.url)).then((one) => one.text())),
  ])
  await counted(pyodide.unpackArchive(model, "zip", { extractDir: "/model" }))
  pyodide.runPython("import sys; sys.path.insert(0, '/model')")
  await counted(pyodide.runPython(code))
  return pyodide.globals
})()

self.onmessage = async ({ data: { id, call, given } }) => {
  try {
    const python = await started
    const said = given === undefined ? python.get(call)() : python.get(call)(given)
    self.postMessage({ id, said: JSON.parse(said) })
  } catch (wrong) {
    self.postMessage({ id, said: { wrong: String(wrong) } })
  }
}
