// Parts of calls that most pages do not show: each is a file of its own, loaded when there is something to show.
import { later } from './later.tsx'

export const LaterDiff = later(() => import('./diff.tsx').then(file => file.Diff))
export const LaterTerminal = later(() => import('./terminal.tsx').then(file => file.Terminal))
export const LaterReport = later(() => import('./report.tsx').then(file => file.ReportView))
export const LaterQuestion = later(() => import('./question.tsx').then(file => file.Question))
export const LaterAlwaysForm = later(() => import('./approval-always.tsx').then(file => file.AlwaysForm))
export const LaterEditForm = later(() => import('./approval-edit.tsx').then(file => file.EditForm))
