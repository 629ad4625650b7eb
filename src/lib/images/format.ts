// Reads the format of a picture and its size in pixels from its first bytes. Nothing is decoded.

/** A picture with more pixels is not decoded. */
export const mostPixels = 50_000_000

export type ImageFormat = 'png' | 'jpeg' | 'gif' | 'webp'
/** `format` undefined: none that is known here. `width` undefined: the size could not be found. */
export type ImageHead = { format?: ImageFormat; width?: number; height?: number }

export function readImageHead(bytes: Buffer): ImageHead {
  if (bytes.length >= 24 && bytes.readUInt32BE(0) === 0x89504e47)
    return { format: 'png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
  if (bytes.length >= 10 && bytes.toString('latin1', 0, 4) === 'GIF8')
    return { format: 'gif', width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
  if (bytes.length >= 4 && bytes.readUInt16BE(0) === 0xffd8) return { format: 'jpeg', ...jpegSize(bytes) }
  if (bytes.length >= 30 && bytes.toString('latin1', 8, 12) === 'WEBP')
    return { format: 'webp', ...webpSize(bytes) }
  return {}
}

type Size = { width?: number; height?: number }

function jpegSize(bytes: Buffer): Size {
  const at = jpegFrameAt(bytes)
  return at === undefined ? {} : { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) }
}

/** Where the frame header of a JPEG begins. Walks over the segments before it. */
export function jpegFrameAt(bytes: Buffer): number | undefined {
  let at = 2
  while (at + 9 < bytes.length) {
    if (bytes[at] !== 0xff) return undefined
    const marker = bytes[at + 1]!
    if (marker === 0xff) {
      at += 1
      continue
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
    if (isFrame) return at
    at += 2 + bytes.readUInt16BE(at + 2)
  }
  return undefined
}

function webpSize(bytes: Buffer): Size {
  const kind = bytes.toString('latin1', 12, 16)
  if (kind === 'VP8X') return { width: 1 + bytes.readUIntLE(24, 3), height: 1 + bytes.readUIntLE(27, 3) }
  if (kind === 'VP8 ')
    return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
  if (kind !== 'VP8L') return {}
  const packed = bytes.readUInt32LE(21)
  return { width: 1 + (packed & 0x3fff), height: 1 + ((packed >> 14) & 0x3fff) }
}
