// Pictures of every known kind are measured, and PNG and JPEG are scaled down to the limits.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { crc32, deflateSync } from 'node:zlib'
import jpeg from 'jpeg-js'
import { PNG } from 'pngjs'
import { readImageHead } from './format.ts'
import { fitImage, isWithin } from './index.ts'

/** Left half red, right half blue; `noise`: pixels that no encoder can shorten; `clear`: the lower half is transparent. */
function pixels(width: number, height: number, { noise = false, clear = false } = {}): Buffer {
  const data = Buffer.alloc(width * height * 4)
  let random = 1
  for (let index = 0; index < width * height; index += 1) {
    const isLeft = index % width < width / 2
    random = (random * 1_103_515_245 + 12_345) % 2 ** 31
    data[index * 4] = noise ? random >> 8 : isLeft ? 255 : 0
    data[index * 4 + 1] = noise ? random >> 12 : 0
    data[index * 4 + 2] = noise ? random >> 16 : isLeft ? 0 : 255
    data[index * 4 + 3] = clear && index > (width * height) / 2 ? 0 : 255
  }
  return data
}

function png(width: number, height: number, options = {}): string {
  const made = new PNG({ width, height })
  made.data = pixels(width, height, options)
  return `data:image/png;base64,${PNG.sync.write(made).toString('base64')}`
}

function photo(width: number, height: number, options = {}): string {
  const { data } = jpeg.encode({ width, height, data: pixels(width, height, options) }, 95)
  return `data:image/jpeg;base64,${data.toString('base64')}`
}

const bytesOf = (url: string): Buffer => Buffer.from(url.slice(url.indexOf(',') + 1), 'base64')

test('the first bytes tell format and size', () => {
  assert.deepEqual(readImageHead(bytesOf(png(30, 20))), { format: 'png', width: 30, height: 20 })
  assert.deepEqual(readImageHead(bytesOf(photo(30, 20))), { format: 'jpeg', width: 30, height: 20 })
  const gif = Buffer.from(
    'R0lGODlhHgAUAIAAAP8AAP///ywAAAAAHgAUAAACFoSPqcvtD6OctNqLs968+w+G4kiW5lkAADs=',
    'base64',
  )
  assert.deepEqual(readImageHead(gif), { format: 'gif', width: 30, height: 20 })
  assert.deepEqual(readImageHead(Buffer.from('no picture at all, whatever its name says')), {})
})

test('a picture within the limits is left alone', () => {
  const limits = { edge: 100, bytes: 100_000 }
  assert.equal(isWithin(png(100, 50), limits), true)
  assert.equal(isWithin(png(101, 50), limits), false)
  assert.equal(isWithin(photo(50, 101), limits), false)
  assert.equal(isWithin(png(90, 90, { noise: true }), { edge: 100, bytes: 10_000 }), false)
  assert.equal(isWithin('https://example.org/large.png', limits), true)
})

test('a PNG keeps its shape, its colours and what is transparent', async () => {
  const fitted = await fitImage(png(400, 200, { clear: true }), { edge: 100, bytes: 1_000_000 }, 'ann')
  assert.ok('url' in fitted, JSON.stringify(fitted))
  const { width, height, data } = PNG.sync.read(bytesOf(fitted.url))
  assert.deepEqual([width, height, fitted.width, fitted.height], [100, 50, 100, 50])
  const at = (x: number, y: number) => [...data.subarray((y * width + x) * 4, (y * width + x) * 4 + 4)]
  assert.deepEqual([at(10, 10), at(90, 10), at(10, 40)[3]], [[255, 0, 0, 255], [0, 0, 255, 255], 0])
})

test('a JPEG is scaled', async () => {
  const fitted = await fitImage(photo(300, 600), { edge: 150, bytes: 1_000_000 }, 'ann')
  assert.ok('url' in fitted, JSON.stringify(fitted))
  assert.deepEqual(readImageHead(bytesOf(fitted.url)), { format: 'jpeg', width: 75, height: 150 })
})

test('a picture with too many bytes is encoded anew, and made smaller if that is not enough', async () => {
  const limits = { edge: 1000, bytes: 60_000 }
  for (const url of [
    png(400, 400, { noise: true }),
    photo(500, 400, { noise: true }),
    png(300, 300, { noise: true, clear: true }),
  ]) {
    const fitted = await fitImage(url, limits, 'ann')
    assert.ok('url' in fitted, JSON.stringify(fitted))
    assert.ok(bytesOf(fitted.url).length <= limits.bytes)
    assert.ok(isWithin(fitted.url, limits))
  }
})

test('what cannot be scaled says why', async () => {
  const limits = { edge: 10, bytes: 10_000 }
  const gif =
    'data:image/gif;base64,R0lGODlhHgAUAIAAAP8AAP///ywAAAAAHgAUAAACFoSPqcvtD6OctNqLs968+w+G4kiW5lkAADs='
  const whys = await Promise.all(
    [gif, `${png(50, 50).slice(0, 150)}AAAA`, png(50, 50).replace('AAAADIAAAAy', 'AAfQAAAH0AA')].map(url =>
      fitImage(url, limits, 'ann'),
    ),
  )
  const words = whys.map(each => ('why' in each ? each.why : 'scaled'))
  assert.match(words[0]!, /has 30 × 20 pixels.*the model takes 10 pixels a side.*format gif cannot be scaled/)
  assert.match(words[1]!, /it is damaged/)
})

/** A PNG of these chunks; `IHDR` is the header of 8-bit grey. */
function pngOf(...chunks: [type: string, body: Buffer][]): Buffer {
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    ...chunks.flatMap(([type, body]) => {
      const length = Buffer.alloc(4)
      length.writeUInt32BE(body.length)
      const named = Buffer.concat([Buffer.from(type), body])
      const sum = Buffer.alloc(4)
      sum.writeUInt32BE(crc32(named))
      return [length, named, sum]
    }),
  ])
}

function greyHeader(width: number, height: number, interlaced: boolean): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.writeUInt8(8, 8)
  header.writeUInt8(interlaced ? 1 : 0, 12)
  return header
}

const dataUrl = (bytes: Buffer, type = 'png'): string =>
  `data:image/${type};base64,${bytes.toString('base64')}`

/** The data of a grey picture of 25 × 25 in seven passes: 625 pixels, and a byte for each row of each pass. */
const interlacedData = Buffer.alloc(625 + 4 + 4 + 3 + 7 + 6 + 13 + 12)

test('an interlaced PNG is scaled', async () => {
  const header = greyHeader(25, 25, true)
  const whole = pngOf(['IHDR', header], ['IDAT', deflateSync(interlacedData)], ['IEND', Buffer.alloc(0)])
  const fitted = await fitImage(dataUrl(whole), { edge: 10, bytes: 10_000 }, 'ann')
  assert.deepEqual('url' in fitted && [fitted.width, fitted.height], [10, 10], JSON.stringify(fitted))
})

test('a picture whose data and header do not agree is damaged', async () => {
  const header = greyHeader(25, 25, true)
  const end: [string, Buffer] = ['IEND', Buffer.alloc(0)]
  const packed = (length: number): [string, Buffer] => ['IDAT', deflateSync(Buffer.alloc(length))]
  const { length } = interlacedData
  for (const bytes of [
    pngOf(['IHDR', header], packed(length - 1), end),
    pngOf(['IHDR', header], packed(length + 1), end),
    pngOf(['IHDR', header], ['IHDR', greyHeader(5000, 5000, true)], packed(length), end),
    pngOf(['abCD', header], ['IHDR', header], packed(length), end),
    pngOf(['IHDR', header], packed(length), end).subarray(0, -30),
  ]) {
    const fitted = await fitImage(dataUrl(bytes), { edge: 10, bytes: 10_000 }, 'ann')
    assert.match('why' in fitted ? fitted.why : 'scaled', /it is damaged/)
  }
})

test('a small file that stands for much data takes no more memory than an honest one', t => {
  const folder = mkdtempSync(join(tmpdir(), 'turnwire-images-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const program = `
    import { readFileSync } from 'node:fs'
    import { fitImage } from '${new URL('./index.ts', import.meta.url)}'
    const fitted = await fitImage(readFileSync(process.argv[1], 'utf8'), { edge: 10, bytes: 10_000 }, 'ann')
    console.log(JSON.stringify({ why: fitted.why ?? 'scaled', mib: process.resourceUsage().maxRSS / 1024 }))`
  const measured = (bytes: Buffer): { why: string; mib: number } => {
    writeFileSync(join(folder, 'picture'), dataUrl(bytes))
    const args = ['--input-type=module', '-e', program, join(folder, 'picture')]
    return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }))
  }
  const of = (data: Buffer): Buffer =>
    pngOf(['IHDR', greyHeader(25, 25, true)], ['IDAT', deflateSync(data)], ['IEND', Buffer.alloc(0)])
  const honest = measured(of(interlacedData))
  const hostile = measured(of(Buffer.alloc(400 * 1024 * 1024)))
  assert.equal(honest.why, 'scaled')
  assert.match(hostile.why, /it is damaged/)
  assert.ok(hostile.mib < honest.mib + 200, `${hostile.mib} MiB, an honest one ${honest.mib} MiB`)
})

test('a picture that would take too much is not decoded', async () => {
  // 16 bits, four samples: 8 bytes for each of 49 million pixels.
  const deep = greyHeader(7000, 7000, false)
  deep.writeUInt8(16, 8)
  deep.writeUInt8(6, 9)
  const wide = pngOf(['IHDR', deep], ['IDAT', deflateSync(Buffer.alloc(100))], ['IEND', Buffer.alloc(0)])
  const frame = Buffer.from('ffc00011081b581b5803011100021100031100', 'hex')
  const jpegHead = Buffer.concat([
    Buffer.from('ffd8', 'hex'),
    frame,
    Buffer.from('ffda000c03010002110311003f00', 'hex'),
  ])
  for (const url of [dataUrl(wide), dataUrl(jpegHead, 'jpeg')]) {
    const fitted = await fitImage(url, { edge: 10, bytes: 10_000 }, 'ann')
    assert.match('why' in fitted ? fitted.why : 'scaled', /7000 × 7000.*it is too large to be scaled here/)
  }
})

test('many pictures of one owner do not hold those of another', async () => {
  const limits = { edge: 100, bytes: 1_000_000 }
  // Both threads are there by then.
  await Promise.all(['ann', 'bob'].map(owner => fitImage(png(200, 200), limits, owner)))
  let done = 0
  const many = Array.from({ length: 40 }, () =>
    fitImage(png(300, 300), limits, 'eve').then(() => (done += 1)),
  )
  await fitImage(png(200, 200), limits, 'ann')
  assert.ok(done < 20, `${done} of 40 came before`)
  await Promise.all(many)
})
