// The conformance suite, for the other folders.
export { conformAgent, conformConfig } from './agent.ts'
export { describeConform } from './describe.ts'
export { type ConformOptions, type ConformReport, clausesOfWire, conformWires, runConform } from './run.ts'
