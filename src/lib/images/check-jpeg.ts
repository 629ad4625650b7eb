// Checks, before a JPEG is decoded, how much memory the decoder will take for it. It keeps 64 numbers for each block of
// 8 × 8 samples of each component, whatever the file holds.
import { jpegFrameAt } from './format.ts'
import { TooLarge } from './too-large.ts'

const blockBytes = 64 * 4

/** Throws if it has no frame, or needs more than `most` bytes. The decoder also counts, but only while it decodes. */
export function checkJpeg(bytes: Buffer, most: number): void {
  const at = jpegFrameAt(bytes)
  if (at === undefined) throw new Error('no frame')
  const [height, width] = [bytes.readUInt16BE(at + 5), bytes.readUInt16BE(at + 7)]
  const components = Array.from({ length: bytes.readUInt8(at + 9) }, (_, index) => {
    const factors = bytes.readUInt8(at + 11 + 3 * index)
    return { across: factors >> 4, down: factors & 15 }
  })
  const across = Math.max(1, ...components.map(each => each.across))
  const down = Math.max(1, ...components.map(each => each.down))
  const units = Math.ceil(width / 8 / across) * Math.ceil(height / 8 / down)
  const blocks = components.reduce((sum, each) => sum + units * each.across * each.down, 0)
  if (blocks * (blockBytes + 64) + width * height * 4 > most) throw new TooLarge()
}
