import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plainTerminal, terminalSpans } from './ansi.ts'

const esc = '\u001b'

test('colours and weights become classes', () => {
  assert.deepEqual(terminalSpans(`a${esc}[1;31mb${esc}[0mc${esc}[92md`), [
    { text: 'a', classes: '' },
    { text: 'b', classes: 'tw-fg-red tw-bold' },
    { text: 'c', classes: '' },
    { text: 'd', classes: 'tw-fg-green' },
  ])
  assert.deepEqual(terminalSpans(`${esc}[38;5;4mx${esc}[48;2;255;0;0my`), [
    { text: 'x', classes: 'tw-fg-blue' },
    { text: 'y', classes: 'tw-fg-blue tw-bg-red' },
  ])
})

test('no other sequence leaves a trace', () => {
  const attacks = [
    `${esc}]52;c;ZXZpbA==\u0007`, // writes the clipboard
    `${esc}[2J${esc}[H`, // clears the screen
    `${esc}]0;title\u0007`,
    `${esc}]8;;https://evil.example${esc}\\click${esc}]8;;${esc}\\`.replace('click', ''),
    `${esc}P1$r0m${esc}\\`,
    `${esc}_payload${esc}\\`,
    '\u009b2J',
    '\u009d0;title\u009c',
    `${esc}c`,
    `${esc}(0`,
    `${esc}]52;c;not closed`,
  ]
  for (const attack of attacks) assert.equal(plainTerminal(`<${attack}`), '<', JSON.stringify(attack))
  assert.equal(plainTerminal(`x${esc}]8;;https://evil.example${esc}\\link${esc}]8;;${esc}\\y`), 'xlinky')
})

test('hidden characters are spelled out', () => {
  assert.equal(plainTerminal('a\u202eb\u200bc\u0000d\u0085e'), 'a\\u202eb\\u200bc\\u0000d\\u0085e')
})

test('a carriage return overwrites its line', () => {
  assert.equal(plainTerminal('10 %\r50 %\r100 %\ndone\r\n'), '100 %\ndone\n')
})
