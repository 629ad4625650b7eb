// The program of the thread that scales one picture.
import { parentPort, workerData } from 'node:worker_threads'
import { type ScaleJob, scaleImage } from './scale.ts'

try {
  // It is started by index.ts only.
  parentPort?.postMessage(scaleImage(workerData as ScaleJob) ?? { why: 'it cannot be made small enough' })
} catch {
  parentPort?.postMessage({ why: 'it is damaged' })
}
