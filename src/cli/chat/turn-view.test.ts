import assert from 'node:assert/strict'
import { test } from 'node:test'
import { styles } from '../style.ts'
import { TurnView } from './turn-view.ts'

function shown(text: string): string {
  let written = ''
  const view = new TurnView(
    words => {
      written += words
    },
    () => 80,
    styles(false),
  )
  view.result('call_1', text)
  return written
}

test('a call that was not run, was stopped or may have taken effect has no check mark', () => {
  const texts = [
    'Not run: the user sent a new message before this call was answered.',
    'Not run: the user has sent a message.',
    'Tool call denied: no',
    'The tool was not run: to is required',
    'The tool did not finish within 50 ms and was stopped. It may have taken effect.',
    'The tool began, but its result did not come in time. It may have taken effect.',
    'The turn ran out of time. The tool was stopped; it may have taken effect.',
    'Cancelled while it was running. It may have taken effect.',
    'This call was cancelled before it ran. It had no effect. Reason: too slow',
    'Stopped while it was running, because the user has sent a message. It may have taken effect.',
    'The server stopped while this tool was running, and it is not known whether it took effect.',
    'It was checked: this call did not take effect. It may be made again.',
    'The tool failed: no such file',
    'There is no tool named "x". No tools are offered.',
  ]
  for (const text of texts) assert.match(shown(text), /^ {2}✗ call_1/, text)
  assert.match(shown('It was sent.'), /^ {2}✓ call_1/)
})
