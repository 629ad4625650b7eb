// Pictures that are larger than a model takes. Whether one is too large is seen from its first bytes; scaling it down happens
// in threads with limits of CPU time and memory, in which owners take turns.
import { programBeside, WorkPool } from '../async/work-pool.ts'
import { type ImageHead, mostPixels, readImageHead } from './format.ts'
import type { ImageLimits, Scaled, ScaleJob } from './scale.ts'

export type { ImageLimits } from './scale.ts'

/** A picture as it can be sent, or why it cannot. `from`: the size that it had. */
export type Fitted = { url: string; width: number; height: number; from: ImageHead } | { why: string }

const threadLimits = { jobMs: 20_000, heapMiB: 512 }
const dataUri = /^data:image\/[a-z0-9.+-]+;base64,/i

/** The beginning of a picture is enough to see what it is; the size of a JPEG may come after other data. */
const headChars = 256 * 1024

/** True: the picture, a data URI, is within the limits or nothing is known of it. */
export function isWithin(url: string, { edge, bytes }: ImageLimits): boolean {
  const head = dataUri.exec(url)
  if (!head) return true
  if (((url.length - head[0].length) * 3) / 4 > bytes) return false
  const { width, height } = readImageHead(decodeHead(url))
  return width === undefined || height === undefined || Math.max(width, height) <= edge
}

/** Its pixels, as far as they are known from its beginning. */
export function countPixels(url: string): number {
  const { width = 0, height = 0 } = readImageHead(decodeHead(url))
  return width * height
}

const decodeHead = (url: string): Buffer => {
  const start = dataUri.exec(url)?.[0].length ?? 0
  return Buffer.from(url.slice(start, start + headChars), 'base64')
}

let pool: WorkPool<ScaleJob, Scaled | { why: string }> | undefined

/** Scales a picture that is not within the limits. Owners take turns. Never rejects. */
export async function fitImage(
  url: string,
  limits: ImageLimits,
  owner: string,
  signal?: AbortSignal,
): Promise<Fitted> {
  const from = readImageHead(decodeHead(url))
  const { format, width = 0, height = 0 } = from
  const data = url.slice(dataUri.exec(url)?.[0].length ?? 0)
  const is = `it has ${width} × ${height} pixels and ${Buffer.byteLength(data, 'base64')} bytes, and the model takes ${limits.edge} pixels a side and ${limits.bytes} bytes`
  if (format === undefined) return { why: `${is}; its format is not known here` }
  if (format !== 'png' && format !== 'jpeg')
    return { why: `${is}; pictures of the format ${format} cannot be scaled here` }
  if (width * height > mostPixels) return { why: `${is}; it is too large to be scaled here` }
  pool ??= new WorkPool(programBeside(import.meta.url, 'worker'), threadLimits)
  const scaled = await pool.run({ data, format, limits }, owner, signal)
  if ('failed' in scaled) return { why: `${is}; scaling it ${scaled.failed}` }
  if ('why' in scaled) return { why: `${is}; ${scaled.why}` }
  return {
    url: `data:image/${scaled.format};base64,${Buffer.from(scaled.bytes).toString('base64')}`,
    width: scaled.width,
    height: scaled.height,
    from,
  }
}
