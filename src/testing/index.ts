// For tests of users: strict doubles of the vendors' APIs, replays, evaluations, and the contract suites of the store and the
// tool port. Models that need neither key nor network are part of the library itself.
export { type ConformOptions, type ConformReport, conformAgent, runConform } from '../conform/index.ts'
export {
  checkHistory,
  type DoctorVendor,
  doctorVendors,
  type HistoryFinding,
  type HistoryRepair,
  repairHistory,
} from '../doctor/index.ts'
export * from '../evals/index.ts'
export {
  type Difference,
  type NewCall,
  type ReplayReport,
  type ReplayTotals,
  replaySession,
  type Simulation,
} from '../replay/index.ts'
export { type NodesUnderTest, nodeStoreContract } from './contracts/node-store.ts'
export { storeContract } from './contracts/store.ts'
export type { MakeStore, StoreUnderTest } from './contracts/store-samples.ts'
export {
  type MakeTool,
  type ToolScenario,
  type ToolScene,
  toolContract,
  toolScenarios,
} from './contracts/tool.ts'
export * from './doubles/index.ts'
