#!/usr/bin/env node
// `npm create turnwire@latest [folder]`: what `turnwire init [folder] --app react` writes. Other options of `turnwire init` go
// through, after two dashes: npm create turnwire@latest shop -- --vendor anthropic
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'

/** Options of init with a value, which is no folder. */
const valued = ['vendor', 'model', 'agent', 'app']

const given = process.argv.slice(2)
const options = Object.fromEntries(valued.map(name => [name, { type: 'string' }]))
// What cannot be used is refused by init, in its words.
const { values, positionals } = parseArgs({ args: given, options, strict: false })
const folder = positionals.length === 0 ? ['my-agent'] : []
const app = values.app === undefined ? ['--app', 'react'] : []
const turnwire = dirname(createRequire(import.meta.url).resolve('turnwire/package.json'))
const { status, error } = spawnSync(
  process.execPath,
  [join(turnwire, 'bin/turnwire.mjs'), 'init', ...folder, ...given, ...app],
  { stdio: 'inherit' },
)
if (error) console.error(`turnwire init could not be started: ${error.message}`)
process.exitCode = status ?? 1
