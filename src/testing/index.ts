// What users test their own agents with: strict doubles of the vendors' APIs, and models that need neither key nor
// network. None of it is needed to run anything.
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
export {
  checkHistory,
  type DoctorVendor,
  doctorVendors,
  type HistoryFinding,
  type HistoryRepair,
  repairHistory,
} from './doctor.ts'
export * from './doubles/index.ts'
