// What the command says of itself, and to whoever gets a word wrong.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { folder, root, turnwire, turnwires } from './rig.ts'

/** Of the guide's page. */
const commands = [
  ...new Set(
    [...readFileSync(join(root, 'docs/guide/command.md'), 'utf8').matchAll(/^\| `([a-z]+)/gm)].map(
      ([, name = '']) => name,
    ),
  ),
]

describe('help', () => {
  test('lists every command, with or without being asked', t => {
    const cwd = folder(t)
    for (const args of [[], ['help'], ['help', 'help'], ['--help'], ['-h']]) {
      const { code, stdout, stderr } = turnwire(args, { cwd })
      assert.deepEqual([code, stderr], [0, ''])
      const listed = [...stdout.matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name)
      assert.deepEqual(new Set(listed), new Set([...commands, 'help']))
    }
  })

  test('explains each command, by `help <command>` and by `--help`', () => {
    const byHelp = turnwires(commands.map(name => ['help', name]))
    const byOption = turnwires(commands.map(name => [name, '--help']))
    for (const [index, name] of commands.entries()) {
      assert.equal(byHelp[index]?.code, 0)
      assert.match(byHelp[index].stdout, new RegExp(`^turnwire ${name}`))
      assert.match(byHelp[index].stdout, /--help {2,}Show this help/)
      assert.deepEqual(byOption[index], byHelp[index])
    }
  })

  test('prints its version', t => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string } // Our own file.
    assert.equal(turnwire(['--version'], { cwd: folder(t) }).stdout, `${version}\n`)
  })
})

describe('an unknown command exits with 2 and suggests the closest one', () => {
  const cases: [string[], string][] = [
    [['srve'], 'There is no command "srve". Did you mean "turnwire serve"?'],
    [['frobnicate'], 'There is no command "frobnicate". See them all with: turnwire help'],
    [['help', 'key'], 'There is no command "key". Did you mean "turnwire keys"?'],
    [['constructor'], 'There is no command "constructor". See them all with: turnwire help'],
    [['ser\u001b[2Jve'], 'There is no command "ser\\u001b[2Jve". See them all with: turnwire help'],
    [['serve', '--prot', '1'], 'turnwire serve has no option --prot. Did you mean --port?'],
    [['serve', '--frobnicate'], 'turnwire serve has no option --frobnicate. See: turnwire help serve'],
    [['serve', '-x'], 'turnwire serve has no option -x. See: turnwire help serve'],
    [['serve', '--port'], '--port needs a value: --port <n>'],
    [['serve', '--port', '--host', 'a'], '--port needs a value: --port <n>'],
    [['serve', '--port', '65536'], '--port must be a number from 0 (any free port) to 65535, not "65536".'],
    [['serve', 'now'], '"now" is one word too many. See: turnwire help serve'],
    [
      ['double'],
      'Say whose API: turnwire double <anthropic | openai-responses | openai-chat | openai-compatible | gemini | gemini-interactions>',
    ],
    [['double', 'gemni', '-s', 'x'], 'There is no double of "gemni". Did you mean "gemini"?'],
    [['double', 'gemini'], 'Say what it is to play: --script <file>'],
    [['double', 'gemini', '-s', 'nope.yaml'], 'There is no file nope.yaml.'],
    [['double', 'gemini', '--lenient=yes'], '--lenient takes no value.'],
    [['doctor'], 'Say what to look at: turnwire doctor <history.json | session> --as <vendor>'],
    [['prepare'], 'Say which session: turnwire prepare <id>. See them with: turnwire sessions list'],
    [['backup'], 'Say where to: turnwire backup <folder>'],
    [['keys', 'ad'], 'turnwire keys knows add, list, remove and hash, not "ad".'],
    [['keys', 'add'], 'Say which: turnwire keys add <name>'],
    [['keys', 'add', 'a b'], 'The name of a key has 1 to 64 letters, digits, ".", "_", "@" or "-".'],
    [['keys', 'remove', 'x'], 'There is no key named "x" in .turnwire.'],
    [['sessions', 'shw'], 'turnwire sessions knows list, show, events and delete, not "shw".'],
    [['sessions', 'show'], 'Say which: turnwire sessions show <id>'],
    [['sessions'], 'There are no sessions in .turnwire. Name the data folder with --data <folder>.'],
    [
      ['chat', '--url', 'localhost'],
      '--url must be a whole address such as http://127.0.0.1:4117, not "localhost".',
    ],
    [['chat', '--agent', 'helpr'], 'There is no agent "helpr" here. Did you mean "helper"?'],
  ]
  const results = turnwires(cases.map(([args]) => args))
  for (const [index, [args, words]] of cases.entries())
    test(args.join(' '), () =>
      assert.deepEqual(results[index], { code: 2, stdout: '', stderr: `${words}\n` }),
    )

  test('also as the exit code of the process', t =>
    assert.equal(turnwire(['srve'], { cwd: folder(t) }).code, 2))
})

test('after npx, hints are lines that the shell finds', t => {
  const options = { cwd: folder(t), env: { npm_lifecycle_event: 'npx' } }
  for (const [args, hint] of [
    [['srve'], 'Did you mean "npx turnwire serve"?'],
    [['frobnicate'], 'See them all with: npx turnwire help'],
    [['serve', '--config', 'none.ts'], 'Make one with: npx turnwire init'],
    [['check', '--port', '0'], 'Make one: npx turnwire init'],
  ] as const) {
    const { stdout, stderr } = turnwire(args, options)
    assert.ok((stdout + stderr).includes(hint), `${args.join(' ')}: ${stderr}`)
  }
})
