// The program of the threads that scale pictures.
import { serveJobs } from '../async/work-pool.ts'
import { type Scaled, type ScaleJob, scaleImage } from './scale.ts'
import { TooLarge } from './too-large.ts'

serveJobs((job: ScaleJob): Scaled | { why: string } => {
  try {
    return scaleImage(job) ?? { why: 'it cannot be made small enough' }
  } catch (error) {
    return { why: isTooLarge(error) ? 'it is too large to be scaled here' : 'it is damaged' }
  }
})

/** The JPEG decoder throws plain errors, so they are told apart by their message. */
function isTooLarge(error: unknown): boolean {
  return error instanceof TooLarge || (error instanceof Error && /limit exceeded/.test(error.message))
}
