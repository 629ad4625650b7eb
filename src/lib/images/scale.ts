// Makes a picture smaller: PNG and JPEG are decoded, averaged down to fewer pixels and encoded again. All of it is
// JavaScript and takes a while, so it runs in a thread of its own: see index.ts. How much memory a picture takes is known
// before it is decoded: what a thread holds outside of its heap has no other limit.
import jpeg from 'jpeg-js'
import { PNG } from 'pngjs'
import { checkJpeg } from './check-jpeg.ts'
import { checkPng } from './check-png.ts'
import { type ImageFormat, mostPixels } from './format.ts'

export type ImageLimits = {
  /** Of the longer side, in pixels. */
  edge: number
  /** Of the picture as a file. */
  bytes: number
}

/** `data`: the file as base64. */
export type ScaleJob = { data: string; format: ImageFormat; limits: ImageLimits }
export type Scaled = { bytes: Uint8Array; format: 'png' | 'jpeg'; width: number; height: number }

type Pixels = { width: number; height: number; data: Uint8Array; exif?: Buffer }

/** Of a PNG, unpacked; the decoder holds about three times as much. */
const mostUnpackedBytes = 160 * 1024 * 1024
/** Of a JPEG, as its decoder counts; it holds about twice as much. */
const mostJpegMiB = 384
const qualities = [85, 65]
/** How often the picture is made smaller again while it has too many bytes. */
const mostTries = 6

/** Undefined: it cannot be made small enough. Throws if it cannot be decoded. */
export function scaleImage({ data, format, limits }: ScaleJob): Scaled | undefined {
  const bytes = Buffer.from(data, 'base64')
  const whole = format === 'png' ? decodePng(bytes) : decodeJpeg(bytes)
  let scale = Math.min(1, limits.edge / Math.max(whole.width, whole.height))
  const isOpaque = format === 'jpeg' || opaque(whole.data)
  for (let tried = 0; tried < mostTries; tried += 1) {
    const small = scale === 1 ? whole : shrink(whole, scale)
    for (const made of encodings(small, format, isOpaque))
      if (made.bytes.length <= limits.bytes) return { ...made, width: small.width, height: small.height }
    scale *= 0.7
  }
  return undefined
}

/** In the order of preference: a drawing stays a PNG if it is small enough. */
function* encodings(
  pixels: Pixels,
  format: ImageFormat,
  isOpaque: boolean,
): Generator<Pick<Scaled, 'bytes' | 'format'>> {
  if (format === 'png') yield { bytes: encodePng(pixels, isOpaque), format: 'png' }
  if (isOpaque) for (const quality of qualities) yield { bytes: encodeJpeg(pixels, quality), format: 'jpeg' }
}

function decodePng(bytes: Buffer): Pixels {
  checkPng(bytes, mostUnpackedBytes)
  const { width, height, data } = PNG.sync.read(bytes)
  return { width, height, data }
}

function decodeJpeg(bytes: Buffer): Pixels {
  checkJpeg(bytes, mostJpegMiB * 1024 * 1024)
  const decoded: Pixels & { exifBuffer?: Uint8Array } = jpeg.decode(bytes, {
    useTArray: true,
    maxResolutionInMP: mostPixels / 1_000_000,
    maxMemoryUsageInMB: mostJpegMiB,
  })
  const { width, height, data, exifBuffer } = decoded
  // It says how the picture is turned. The package's types do not have it.
  return { width, height, data, ...(exifBuffer && { exif: Buffer.from(exifBuffer) }) }
}

function encodePng({ width, height, data }: Pixels, isOpaque: boolean): Uint8Array {
  const png = new PNG({ width, height })
  png.data = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  return PNG.sync.write(png, { colorType: isOpaque ? 2 : 6 })
}

function encodeJpeg({ width, height, data, exif }: Pixels, quality: number): Uint8Array {
  return jpeg.encode({ width, height, data, ...(exif && { exifBuffer: exif }) }, quality).data
}

function opaque(data: Uint8Array): boolean {
  for (let at = 3; at < data.length; at += 4) if (data[at] !== 255) return false
  return true
}

/** Each new pixel is the mean of the pixels that it covers. Colours count as much as they are opaque. */
function shrink({ width, height, data, exif }: Pixels, scale: number): Pixels {
  const columns = Math.max(1, Math.round(width * scale))
  const rows = Math.max(1, Math.round(height * scale))
  const made = new Uint8Array(columns * rows * 4)
  for (let row = 0; row < rows; row += 1) {
    const top = Math.floor((row * height) / rows)
    const bottom = Math.max(top + 1, Math.floor(((row + 1) * height) / rows))
    for (let column = 0; column < columns; column += 1) {
      const left = Math.floor((column * width) / columns)
      const right = Math.max(left + 1, Math.floor(((column + 1) * width) / columns))
      let [red, green, blue, alpha] = [0, 0, 0, 0]
      for (let y = top; y < bottom; y += 1)
        for (let at = (y * width + left) * 4, end = (y * width + right) * 4; at < end; at += 4) {
          const weight = data[at + 3]!
          red += data[at]! * weight
          green += data[at + 1]! * weight
          blue += data[at + 2]! * weight
          alpha += weight
        }
      const to = (row * columns + column) * 4
      const seen = alpha || 1
      made[to] = Math.round(red / seen)
      made[to + 1] = Math.round(green / seen)
      made[to + 2] = Math.round(blue / seen)
      made[to + 3] = Math.round(alpha / ((bottom - top) * (right - left)))
    }
  }
  return { width: columns, height: rows, data: made, ...(exif && { exif }) }
}
