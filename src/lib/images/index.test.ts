// Pictures of every known kind are measured, and PNG and JPEG are scaled down to the limits.
import assert from 'node:assert/strict'
import { test } from 'node:test'
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
  const fitted = await fitImage(png(400, 200, { clear: true }), { edge: 100, bytes: 1_000_000 })
  assert.ok('url' in fitted, JSON.stringify(fitted))
  const { width, height, data } = PNG.sync.read(bytesOf(fitted.url))
  assert.deepEqual([width, height, fitted.width, fitted.height], [100, 50, 100, 50])
  const at = (x: number, y: number) => [...data.subarray((y * width + x) * 4, (y * width + x) * 4 + 4)]
  assert.deepEqual([at(10, 10), at(90, 10), at(10, 40)[3]], [[255, 0, 0, 255], [0, 0, 255, 255], 0])
})

test('a JPEG is scaled', async () => {
  const fitted = await fitImage(photo(300, 600), { edge: 150, bytes: 1_000_000 })
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
    const fitted = await fitImage(url, limits)
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
      fitImage(url, limits),
    ),
  )
  const words = whys.map(each => ('why' in each ? each.why : 'scaled'))
  assert.match(words[0]!, /has 30 × 20 pixels.*the model takes 10 pixels a side.*format gif cannot be scaled/)
  assert.match(words[1]!, /it is damaged/)
})
