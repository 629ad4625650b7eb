// The tools of a workspace on a real folder: what they do, what they refuse (T-27), and what they show.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, beforeEach, describe, test } from 'node:test'
import { InvalidInput, type Tool, type ToolContext } from '../../../src/engine/index.ts'
import { joinText } from '../../../src/language/content.ts'
import type { Report } from '../../../src/language/report.ts'
import type { Json } from '../../../src/lib/json/index.ts'
import { contextFor } from '../../../src/testing/contracts/tool.ts'
import { type WorkspaceOptions, workspace } from '../../../src/tools/index.ts'

const skip = existsSync('/proc/self/fd') ? false : 'files are confined on Linux only'
const base = mkdtempSync(join(tmpdir(), 'turnwire-files-'))
after(() => rmSync(base, { recursive: true, force: true }))
let root = ''
let tools = new Map<string, Tool>()

beforeEach(() => {
  root = mkdtempSync(join(base, 'w-'))
  writeFileSync(join(base, 'secret.txt'), 'SECRET')
  open()
})

function open(options: Partial<WorkspaceOptions> = {}): void {
  const names = ['read', 'list', 'search', 'write', 'edit', 'patch', 'move', 'delete', 'editor'] as const
  tools = new Map(workspace({ root, tools: names, ...options }).map(each => [each.name, each]))
}

const put = (path: string, text: string): void => writeFileSync(join(root, path), text)
const get = (path: string): string => readFileSync(join(root, path), 'utf8')

async function run(name: string, input: Json, changes: Partial<ToolContext> = {}): Promise<string> {
  return joinText((await runWhole(name, input, changes)).parts)
}

async function runWhole(name: string, input: Json, changes: Partial<ToolContext> = {}) {
  return tools.get(name)!.run(input, contextFor(changes))
}

const refused = (name: string, input: Json, message: RegExp): Promise<void> =>
  assert.rejects(
    async () => run(name, input),
    error => error instanceof InvalidInput && message.test(error.message),
  )

describe('reading', { skip }, () => {
  test('a file, or some of its lines', async () => {
    put('a.txt', 'one\ntwo\nthree\n')
    assert.equal(await run('read_file', { path: 'a.txt' }), 'one\ntwo\nthree\n')
    assert.equal(await run('read_file', { path: './a.txt', line: 2, limit: 1 }), 'two\n(lines 2 to 2 of 3)')
    await refused('read_file', { path: 'a.txt', line: 9 }, /has 3 lines/)
    assert.equal(await run('read_file', { path: join(root, 'a.txt') }), 'one\ntwo\nthree\n')
  })

  test('lists and searches by text, expression and name', async () => {
    mkdirSync(join(root, 'src/deep'), { recursive: true })
    mkdirSync(join(root, 'node_modules'))
    put('src/a.ts', 'const x = 1\nlet Y = 2\n')
    put('src/deep/b.md', 'x marks it\n')
    put('node_modules/c.ts', 'x')
    put('bin', 'a\0b')
    symlinkSync('src', join(root, 'link'))
    assert.equal(await run('list_files', {}), 'bin\nlink@\nnode_modules/\nsrc/')
    assert.equal(await run('list_files', { path: 'src', depth: 2 }), 'src/a.ts\nsrc/deep/\nsrc/deep/b.md')
    const found = await run('search_files', { text: 'x' })
    assert.equal(
      found,
      'src/a.ts:1: const x = 1\nsrc/deep/b.md:1: x marks it\n(1 files were not searched: not text, or too large.)',
    )
    assert.equal(
      await run('search_files', { regex: '^let y', ignore_case: true }),
      'src/a.ts:2: let Y = 2\n(1 files were not searched: not text, or too large.)',
    )
    assert.equal(await run('search_files', { glob: '*.{md,txt}' }), 'src/deep/b.md')
    assert.equal(await run('search_files', { glob: 'src/*.ts', text: 'zzz' }), 'Nothing was found.')
    await refused('search_files', { regex: '(' }, /not a regular expression/)
    // An expression that takes V8 minutes takes no time here.
    put('evil', `${'a'.repeat(60)}!`)
    assert.equal(await run('search_files', { regex: '^(a+)+$', glob: 'evil' }), 'Nothing was found.')
  })

  test('of what is no text file, too large, or no file at all is refused with the reason', async () => {
    put('bin', 'a\0b')
    writeFileSync(join(root, 'latin'), Buffer.from([0xe4, 0xf6]))
    put('huge', '')
    truncateSync(join(root, 'huge'), 10 * 1024 ** 3)
    execFileSync('mkfifo', [join(root, 'fifo')])
    symlinkSync('/dev/zero', join(root, 'zero'))
    await refused('read_file', { path: 'bin' }, /is not a text file/)
    await refused('read_file', { path: 'latin' }, /not a text file in UTF-8/)
    await refused('read_file', { path: 'huge' }, /has 10737418240 bytes; files of up to 1048576/)
    await refused('read_file', { path: 'fifo' }, /is not a regular file/)
    await refused('read_file', { path: 'zero' }, /lies outside/)
    await refused('read_file', { path: '.' }, /is a folder/)
    await refused('read_file', { path: 'none' }, /does not exist/)
  })
})

describe('paths', { skip }, () => {
  test('that lead out are refused by every tool', async () => {
    symlinkSync(base, join(root, 'out'))
    symlinkSync('../secret.txt', join(root, 'up'))
    symlinkSync('/etc', join(root, 'etc'))
    symlinkSync('loop', join(root, 'loop'))
    symlinkSync('/proc/self/root', join(root, 'magic'))
    symlinkSync('/proc/self/cwd', join(root, 'cwd'))
    const before = readdirSync(base).sort()
    const outside = openSync(base, 'r')
    const paths = [
      '../secret.txt',
      'a/../../secret.txt',
      '/etc/passwd',
      join(base, 'secret.txt'),
      `${root}/../secret.txt`,
      `${root}x/secret.txt`,
      'out/secret.txt',
      'up',
      'etc/passwd',
      'loop',
      '/proc/self/root/etc/passwd',
      'magic/etc/passwd',
      'cwd/package.json',
      `/proc/self/fd/${outside}/secret.txt`,
      `/dev/fd/${outside}/secret.txt`,
      'a\0b',
      `${'x/'.repeat(3000)}y`,
    ]
    for (const path of paths) {
      const calls: [string, Json][] = [
        ['read_file', { path }],
        ['list_files', { path }],
        ['search_files', { path, text: 'S' }],
        ['write_file', { path, content: 'x' }],
        ['edit_file', { path, old_text: 'SECRET', new_text: 'x' }],
        ['apply_patch', `*** Begin Patch\n*** Delete File: ${path}\n*** End Patch`],
        ['file_editor', { command: 'create', path, file_text: 'x' }],
      ]
      for (const [name, input] of calls)
        await assert.rejects(
          async () => run(name, input),
          error => error instanceof InvalidInput,
          `${name} ${path}`,
        )
      await assert.rejects(async () => run('move_file', { from: 'up', to: '../moved' }))
    }
    assert.equal(readFileSync(join(base, 'secret.txt'), 'utf8'), 'SECRET')
    assert.deepEqual(readdirSync(base).sort(), before)
    closeSync(outside)
  })

  test('over links that stay inside are followed; a link itself is moved and deleted', async () => {
    mkdirSync(join(root, 'a/b'), { recursive: true })
    put('a/b/c.txt', 'c')
    symlinkSync('a/b', join(root, 'short'))
    symlinkSync('../../top.txt', join(root, 'a/b/up'))
    put('top.txt', 'top')
    assert.equal(await run('read_file', { path: 'short/c.txt' }), 'c')
    assert.equal(await run('read_file', { path: 'short/up' }), 'top')
    await run('edit_file', { path: 'short/up', old_text: 'top', new_text: 'TOP' })
    assert.equal(get('top.txt'), 'TOP')
    await run('delete_file', { path: 'short' })
    assert.equal(get('a/b/c.txt'), 'c')
  })

  test('of files with a second name are refused, unless they are allowed', async () => {
    linkSync(join(base, 'secret.txt'), join(root, 'hard'))
    await refused('read_file', { path: 'hard' }, /hard link/)
    open({ hardLinks: true })
    assert.equal(await run('read_file', { path: 'hard' }), 'SECRET')
    await run('edit_file', { path: 'hard', old_text: 'SECRET', new_text: 'mine' })
    assert.equal(get('hard'), 'mine')
    assert.equal(readFileSync(join(base, 'secret.txt'), 'utf8'), 'SECRET', 'the other name keeps its content')
    rmSync(join(root, 'hard'))
  })

  test('with odd names are names', async () => {
    for (const path of [' ', '-rf', '~', 'a b', 'ü', '$(x)', 'a\nb', '…', 'con.txt'])
      assert.match(await run('write_file', { path, content: path }), /^Made/)
    assert.equal(get('a\nb'), 'a\nb')
  })
})

describe('writing', { skip }, () => {
  test('makes folders, keeps permissions, and leaves nothing behind', async () => {
    await run('write_file', { path: 'x/y/z.sh', content: 'echo 1\n' })
    assert.equal(get('x/y/z.sh'), 'echo 1\n')
    chmodSync(join(root, 'x/y/z.sh'), 0o755)
    await run('edit_file', { path: 'x/y/z.sh', old_text: '1', new_text: '2' })
    assert.equal(statSync(join(root, 'x/y/z.sh')).mode & 0o777, 0o755)
    assert.deepEqual(readdirSync(join(root, 'x/y')), ['z.sh'])
  })

  test('over a file needs that it was read, and that nobody changed it since', async () => {
    put('a.txt', 'one')
    await refused('write_file', { path: 'a.txt', content: 'two' }, /you have not read it/)
    await run('read_file', { path: 'a.txt' })
    put('a.txt', 'other')
    await refused(
      'write_file',
      { path: 'a.txt', content: 'two' },
      /changed by someone else since you read it/,
    )
    await refused('edit_file', { path: 'a.txt', old_text: 'other', new_text: 'x' }, /Read it again/)
    assert.equal(get('a.txt'), 'other')
    await run('read_file', { path: 'a.txt' })
    await run('write_file', { path: 'a.txt', content: 'two' })
    await run('edit_file', { path: 'a.txt', old_text: 'two', new_text: 'three' })
    assert.equal(get('a.txt'), 'three')
  })

  test('an edit replaces one exact text, or all', async () => {
    put('a.txt', 'x = 1\nx = 2\n')
    await refused('edit_file', { path: 'a.txt', old_text: 'x  =', new_text: 'y' }, /does not hold/)
    await refused(
      'edit_file',
      { path: 'a.txt', old_text: 'x =', new_text: 'y =' },
      /holds the text to replace 2 times/,
    )
    await run('edit_file', { path: 'a.txt', old_text: 'x =', new_text: '$& =', all: true })
    assert.equal(get('a.txt'), '$& = 1\n$& = 2\n')
  })

  test('what changed after it was shown for approval is not written', async () => {
    put('a.txt', 'x = 1\n')
    const input = { path: 'a.txt', old_text: 'x', new_text: 'y' }
    const shown = await tools.get('edit_file')!.preview!(input, contextFor())
    const path = join(root, 'a.txt')
    assert.deepEqual(shown.diffs, [{ path, oldText: 'x = 1\n', newText: 'y = 1\n' }])
    put('a.txt', 'x = 1\nrm -rf\n')
    await refused('edit_file', input, /changed after the call was shown/)
  })

  test('moves and deletes', async () => {
    put('a.txt', 'a')
    mkdirSync(join(root, 'full'))
    put('full/x', 'x')
    assert.equal(await run('move_file', { from: 'a.txt', to: 'new/b.txt' }), 'Moved a.txt to new/b.txt.')
    await refused('move_file', { from: 'full/x', to: 'new/b.txt' }, /exists already/)
    await refused('move_file', { from: 'full', to: 'full/in' }, /lies inside/)
    await refused('delete_file', { path: 'full' }, /not empty/)
    await refused('delete_file', { path: '.' }, /workspace itself/)
    await run('move_file', { from: 'full', to: 'folder' })
    const whole = await runWhole('delete_file', { path: 'new/b.txt' })
    assert.deepEqual(whole.report?.diffs, [{ path: join(root, 'new/b.txt'), oldText: 'a', newText: null }])
    assert.ok(!existsSync(join(root, 'new/b.txt')))
  })

  test('shows files while it runs and differences with its result', async () => {
    put('a.txt', 'one\ntwo\n')
    const live: Report[] = []
    const input = { path: 'a.txt', old_text: 'two', new_text: '2' }
    const { report } = await runWhole('edit_file', input, { report: shown => void live.push(shown) })
    const path = join(root, 'a.txt')
    assert.deepEqual(live, [{ locations: [{ path, line: 2 }] }])
    assert.deepEqual(report?.diffs, [{ path, oldText: 'one\ntwo\n', newText: 'one\n2\n' }])
  })
})

describe('a patch', { skip }, () => {
  const patch = (...lines: string[]): string => ['*** Begin Patch', ...lines, '*** End Patch'].join('\n')

  test('changes several files at once, or none', async () => {
    put('a.py', 'def f():\n    return 1\n\ndef g():\n    return 1\n')
    put('old.txt', 'old\n')
    put('gone.txt', 'x\n')
    const good = patch(
      '*** Add File: new/n.txt',
      '+first',
      '+second',
      '*** Update File: a.py',
      '@@ def g():',
      '-    return 1',
      '+    return 2',
      '*** Update File: old.txt',
      '*** Move to: moved.txt',
      '@@',
      '-old',
      '+new',
      '*** Delete File: gone.txt',
    )
    const shown = await tools.get('apply_patch')!.preview!(good, contextFor())
    assert.equal(shown.diffs?.length, 5)
    assert.equal(
      await run('apply_patch', good),
      'Done:\nA new/n.txt\nM a.py\nD old.txt\nA moved.txt\nD gone.txt',
    )
    assert.equal(get('new/n.txt'), 'first\nsecond\n')
    assert.equal(get('a.py'), 'def f():\n    return 1\n\ndef g():\n    return 2\n')
    assert.equal(get('moved.txt'), 'new\n')
    assert.ok(!existsSync(join(root, 'old.txt')) && !existsSync(join(root, 'gone.txt')))
    await refused('apply_patch', patch('*** Delete File: a.py', '*** Delete File: none'), /does not exist/)
    assert.ok(existsSync(join(root, 'a.py')))
  })

  for (const [title, text, message] of [
    ['no envelope', 'x', /first line must be/],
    ['no end', '*** Begin Patch\n*** Delete File: a', /last line must be/],
    ['nothing', patch(), /changes no file/],
    ['a stray line', patch('hello'), /a file starts with/],
    ['a new file without +', patch('*** Add File: b', 'x'), /must begin with "\+"/],
    ['a line of no kind', patch('*** Update File: a', '@@', 'x'), /must begin with " "/],
    [
      'lines that are not there',
      patch('*** Update File: a', '@@', '-nope', '+x'),
      /not in "a" as the patch says/,
    ],
    ['a place that is not there', patch('*** Update File: a', '@@ nope', '-1', '+x'), /has no line "nope"/],
    ['a file that exists', patch('*** Add File: a', '+x'), /exists already/],
  ] as const)
    test(`is refused with the reason: ${title}`, async () => {
      put('a', '1\n')
      await refused('apply_patch', text, message)
      assert.equal(get('a'), '1\n')
    })

  test('keeps line ends, and finds lines whose spaces differ', async () => {
    put('a', 'one  \r\ntwo\r\n')
    await run('apply_patch', patch('*** Update File: a', '@@', '-one', '+1', ' two', '+three'))
    assert.equal(get('a'), '1\r\ntwo\r\nthree\r\n')
  })
})

describe('the editor', { skip }, () => {
  test('views, creates, replaces and inserts', async () => {
    await run('file_editor', { command: 'create', path: 'a.txt', file_text: 'one\ntwo\n' })
    assert.equal(await run('file_editor', { command: 'view', path: 'a.txt' }), '     1\tone\n     2\ttwo')
    assert.equal(
      await run('file_editor', { command: 'view', path: 'a.txt', view_range: [2, -1] }),
      '     2\ttwo',
    )
    await run('file_editor', { command: 'str_replace', path: 'a.txt', old_str: 'two', new_str: '2' })
    await run('file_editor', { command: 'insert', path: 'a.txt', insert_line: 1, insert_text: 'between' })
    assert.equal(get('a.txt'), 'one\nbetween\n2\n')
    assert.equal(await run('file_editor', { command: 'view', path: '.' }), 'a.txt')
    await refused('file_editor', { command: 'create', path: 'b.txt' }, /needs "file_text"/)
  })
})

describe('the definition', { skip }, () => {
  test('is checked', () => {
    assert.throws(() => workspace({ root: '/no/such/folder' }), {
      code: 'invalid_tool',
      message: /cannot use the folder/,
    })
    assert.throws(() => workspace({ root, vendorTyped: ['x'] }), {
      code: 'invalid_tool',
      message: /apply_patch/,
    })
    assert.throws(() => workspace({ root: '' }), { code: 'invalid_tool', message: /needs "root"/ })
    // As JavaScript may give it.
    assert.throws(() => workspace({ root, tools: ['fly' as 'read'] }), { message: /has no tool "fly"/ })
  })

  test('says what each tool is', () => {
    const kinds = [...tools.values()].map(({ name, kind, readOnly, trust }) => [name, kind, readOnly, trust])
    assert.deepEqual(kinds, [
      ['read_file', 'read', true, 'trusted'],
      ['list_files', 'read', true, 'trusted'],
      ['search_files', 'search', true, 'trusted'],
      ['write_file', 'edit', false, 'ask'],
      ['edit_file', 'edit', false, 'ask'],
      ['apply_patch', 'edit', false, 'ask'],
      ['move_file', 'move', false, 'ask'],
      ['delete_file', 'delete', false, 'ask'],
      ['file_editor', 'edit', false, 'ask'],
    ])
  })
})
