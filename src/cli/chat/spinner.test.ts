import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Spinner } from './spinner.ts'

test('it is drawn at the start of a line only, and erased before anything else', t => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  let now = 0
  t.mock.method(performance, 'now', () => now)
  let written = ''
  const spinner = new Spinner(
    text => (written += text),
    () => 80,
  )
  const pass = (ms: number): void => {
    for (let left = ms; left > 0; left -= 120) {
      now += 120
      t.mock.timers.tick(120)
    }
  }
  const stop = spinner.start(() => 'thinking')
  pass(240)
  assert.equal(written, '', 'an answer that comes at once needs none')
  pass(1200)
  assert.ok(written.includes('\r\u001b[2K  ⠋ thinking 0 s'), written)
  assert.match(written, /thinking 1 s$/)
  assert.equal(spinner.erased(), '\r\u001b[2K')
  assert.equal(spinner.erased(), '')
  written = ''
  spinner.isAtLineStart = false
  pass(1200)
  assert.equal(written, '', 'a line that was begun is left alone')
  spinner.isAtLineStart = true
  pass(600)
  assert.notEqual(written, '')
  stop()
  assert.ok(written.endsWith('\r\u001b[2K'))
})

test('details follow the time, and the line is cut at the width', t => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  let now = 0
  t.mock.method(performance, 'now', () => now)
  let written = ''
  const spinner = new Spinner(
    text => (written = text),
    () => 29,
  )
  let detail = '3/10 漢字漢字漢字漢字漢字'
  const stop = spinner.start(
    () => 'build',
    () => detail,
  )
  const pass = (): void => {
    now += 480
    t.mock.timers.tick(120)
  }
  pass()
  // 21 columns are filled: of the 7 that are left, three characters of two columns take 6.
  assert.equal(written, '\r\u001b[2K  ⠋ build 0 s · 3/10 漢字漢')
  detail = ''
  pass()
  assert.equal(written, '\r\u001b[2K  ⠙ build 0 s')
  stop()
})
