// The completion scripts, in the shells that are there.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { folder, turnwire } from './rig.ts'

test('bash completes commands, actions and options', t => {
  const { code, stdout } = turnwire(['completions', 'bash'], { cwd: folder(t) })
  assert.equal(code, 0)
  const complete = (...words: string[]): string[] => {
    const program = `${stdout}\nCOMP_WORDS=(${words.map(word => `'${word}'`).join(' ')})\nCOMP_CWORD=${words.length - 1}\n_turnwire\necho "\${COMPREPLY[@]}"`
    const done = spawnSync('bash', ['--norc', '-c', program], { encoding: 'utf8' })
    assert.equal(done.stderr, '')
    return done.stdout.trim().split(' ')
  }
  assert.deepEqual(complete('turnwire', 'se'), ['serve', 'sessions', 'seal'])
  assert.deepEqual(complete('turnwire', 'keys', ''), [
    'add',
    'list',
    'remove',
    'hash',
    '--operator',
    '--roles',
    '--data',
    '--config',
    '--help',
  ])
  assert.deepEqual(complete('turnwire', 'chat', '--js'), ['--json'])
  assert.deepEqual(complete('turnwire', 'completions', ''), ['bash', 'zsh', 'fish', '--help'])
})

for (const shell of ['zsh', 'fish'])
  test(`the script for ${shell} names every command`, t => {
    const { code, stdout } = turnwire(['completions', shell], { cwd: folder(t) })
    assert.equal(code, 0)
    for (const name of ['serve', 'chat', 'init', 'keys', 'completions'])
      assert.match(stdout, new RegExp(`\\b${name}\\b`))
    const found = spawnSync(shell, ['-n'], { input: stdout, encoding: 'utf8' })
    if (found.error === undefined) assert.deepEqual([found.status, found.stderr], [0, ''])
    else t.diagnostic(`${shell} is not installed: its grammar is not checked.`)
  })

test('another shell is refused with those that there are', t => {
  const { code, stderr } = turnwire(['completions', 'csh'], { cwd: folder(t) })
  assert.deepEqual([code, stderr], [2, 'Say for which shell: turnwire completions bash | zsh | fish\n'])
})
