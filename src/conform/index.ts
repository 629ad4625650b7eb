// The conformance suite, for the other folders.
export { conformAgent, conformConfig } from './agent.ts'
export type { Finding, Verdict } from './check.ts'
export { describeConform } from './describe.ts'
export {
  type ConformOptions,
  type ConformReport,
  clausesOfWire,
  conformWires,
  runConform,
  type WireName,
  type WireReport,
} from './run.ts'
