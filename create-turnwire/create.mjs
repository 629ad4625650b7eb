#!/usr/bin/env node
// `npm create turnwire@latest [folder]`: what `turnwire init [folder] --app react` writes. Other options of `turnwire init` go
// through, after two dashes: npm create turnwire@latest shop -- --vendor anthropic
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const given = process.argv.slice(2)
const folder = given[0] === undefined || given[0].startsWith('-') ? ['my-agent'] : []
const app = given.some(word => word === '--app' || word.startsWith('--app=')) ? [] : ['--app', 'react']
const turnwire = dirname(createRequire(import.meta.url).resolve('turnwire/package.json'))
const { status, error } = spawnSync(
  process.execPath,
  [join(turnwire, 'bin/turnwire.mjs'), 'init', ...folder, ...given, ...app],
  { stdio: 'inherit' },
)
if (error) console.error(`turnwire init could not be started: ${error.message}`)
process.exitCode = status ?? 1
