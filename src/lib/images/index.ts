// Pictures that are larger than a model takes. Whether one is too large is seen from its first bytes; scaling it down happens
// in a thread, one picture at a time, with a limit of time.
import { Worker } from 'node:worker_threads'
import { type ImageHead, readImageHead } from './format.ts'
import type { ImageLimits, Scaled, ScaleJob } from './scale.ts'

export type { ImageLimits } from './scale.ts'

/** A picture as it can be sent, or why it cannot. `from`: the size that it had. */
export type Fitted = { url: string; width: number; height: number; from: ImageHead } | { why: string }

const mostPixels = 50_000_000
const longestMs = 60_000
const dataUri = /^data:image\/[a-z0-9.+-]+;base64,/i

/** The beginning of a picture is enough to see what it is; the size of a JPEG may come after other data. */
const headChars = 256 * 1024

/** True: the picture, a data URI, is within the limits or nothing is known of it. */
export function isWithin(url: string, { edge, bytes }: ImageLimits): boolean {
  const head = dataUri.exec(url)
  if (!head) return true
  if (((url.length - head[0].length) * 3) / 4 > bytes) return false
  const { width, height } = readImageHead(
    Buffer.from(url.slice(head[0].length, head[0].length + headChars), 'base64'),
  )
  return width === undefined || height === undefined || Math.max(width, height) <= edge
}

let last: Promise<unknown> = Promise.resolve()

/** Scales a picture that is not within the limits. Pictures wait for each other. Never rejects. */
export function fitImage(url: string, limits: ImageLimits): Promise<Fitted> {
  const fitted = last.then(() => fit(url, limits))
  last = fitted
  return fitted
}

async function fit(url: string, limits: ImageLimits): Promise<Fitted> {
  const bytes = Buffer.from(url.slice(dataUri.exec(url)?.[0].length ?? 0), 'base64')
  const from = readImageHead(bytes)
  const { format, width = 0, height = 0 } = from
  const is = `it has ${width} × ${height} pixels and ${bytes.length} bytes, and the model takes ${limits.edge} pixels a side and ${limits.bytes} bytes`
  if (format === undefined) return { why: `${is}; its format is not known here` }
  if (format !== 'png' && format !== 'jpeg')
    return { why: `${is}; pictures of the format ${format} cannot be scaled here` }
  if (width * height > mostPixels) return { why: `${is}; it is too large to be scaled here` }
  const scaled = await inThread({ bytes, format, limits })
  if ('why' in scaled) return { why: `${is}; ${scaled.why}` }
  const data = Buffer.from(scaled.bytes).toString('base64')
  return {
    url: `data:image/${scaled.format};base64,${data}`,
    width: scaled.width,
    height: scaled.height,
    from,
  }
}

/** The file has the ending of this one: .ts in the checkout, .js in the package. */
const program = new URL(`./worker${/\.\w+$/.exec(import.meta.url)?.[0]}`, import.meta.url)

function inThread(job: ScaleJob): Promise<Scaled | { why: string }> {
  return new Promise(resolve => {
    const worker = new Worker(program, { workerData: job, env: {}, execArgv: [] })
    const end = (result: Scaled | { why: string }): void => {
      clearTimeout(timer)
      void worker.terminate()
      resolve(result)
    }
    const timer = setTimeout(() => end({ why: 'scaling it took too long' }), longestMs)
    worker.once('message', end)
    worker.once('error', () => end({ why: 'scaling it failed' }))
    worker.once('exit', () => end({ why: 'scaling it failed' }))
  })
}
