// For tests of users: strict doubles of the vendors' APIs, models that need neither key nor network, and the contract
// suites of the store and the tool port. Nothing else in the package needs this folder at run time.
export { type RehearsalOptions, rehearsal } from '../models/rehearsal/index.ts'
export {
  type Expectation,
  type ExpectedResult,
  parseScript,
  type Script as ModelScript,
  type ScriptDocument,
  type ScriptedOptions,
  type ScriptStep,
  type StepCall,
  scripted,
  scriptFromFile,
} from '../models/scripted/index.ts'
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
export {
  checkHistory,
  type DoctorVendor,
  doctorVendors,
  type HistoryFinding,
  type HistoryRepair,
  repairHistory,
} from './doctor.ts'
export * from './doubles/index.ts'
