import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { type ProgressPlace, startProgress } from './progress.ts'

function rig(place: ProgressPlace) {
  let [time, written] = [0, '']
  const progress = startProgress('Exporting', 'sessions', {
    place,
    write: text => (written += text),
    width: () => 80,
    now: () => time,
  })
  return { progress, pass: (ms: number) => (time += ms), written: () => written }
}

test('on a terminal a bar is drawn after a while, redrawn in its place, and erased', () => {
  const { progress, pass, written } = rig('terminal')
  progress.step(1, 4)
  assert.equal(written(), '', 'short work shows nothing')
  pass(1000)
  progress.step(2, 4)
  assert.equal(written(), `\r\u001b[2KExporting ${'█'.repeat(12)}${'░'.repeat(12)} 50 % 2 of 4 sessions, 1 s`)
  progress.step(3, 4)
  assert.equal(written().split('\r').length, 2, 'not redrawn at once')
  progress.end()
  assert.ok(written().endsWith('1 s\r\u001b[2K'))
  pass(1000)
  progress.step(4, 4)
  assert.ok(written().endsWith('1 s\r\u001b[2K'), 'nothing is shown after the end')
})

test('work that blocks the thread is announced before it begins', () => {
  let written = ''
  const write = (text: string) => (written += text)
  startProgress('Rewriting', '', {
    place: 'terminal',
    write,
    width: () => 80,
    now: () => 0,
    atOnce: true,
  }).end()
  assert.equal(written, '\r\u001b[2KRewriting, 0 s\r\u001b[2K')
})

test('elsewhere a line is written now and then, without a bar', () => {
  const { progress, pass, written } = rig('lines')
  for (let done = 0; done < 30; done += 1) {
    progress.step(done)
    pass(1000)
  }
  progress.end()
  assert.equal(written(), 'Exporting 10 sessions, 10 s\nExporting 20 sessions, 20 s\n')
})

test('in a pipe nothing is written', () => {
  const { progress, pass, written } = rig('nowhere')
  pass(60_000)
  progress.step(1, 2)
  progress.end()
  assert.equal(written(), '')
  const code = `import { progressPlace } from '${new URL('progress.ts', import.meta.url)}'; console.log(progressPlace())`
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', code], {
    encoding: 'utf8',
  })
  assert.equal(stdout, 'nowhere\n')
})
