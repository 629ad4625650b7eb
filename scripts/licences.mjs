// The licences of npm packages whose code or fonts go into a file that we ship, as one text.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const modules = fileURLToPath(new URL('../node_modules', import.meta.url))

/** The package that a file belongs to. Undefined: it is one of ours. */
export function packageOf(file) {
  return /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1]
}

/** Each package by name, version and licence, with the text of its licence if it has a file of it. */
export function licenceText(names) {
  return [...new Set(names)]
    .sort((a, b) => (a < b ? -1 : 1))
    .map(describePackage)
    .join(`\n${'-'.repeat(72)}\n\n`)
}

function describePackage(name) {
  const folder = join(modules, name)
  const manifest = join(folder, 'package.json')
  if (!existsSync(manifest)) throw new Error(`${name} is not installed: its licence cannot be named.`)
  const { version, license } = JSON.parse(readFileSync(manifest, 'utf8'))
  const file = readdirSync(folder).find(each => /^licen[cs]e(?:\.|$)/i.test(each))
  const text = file === undefined ? '' : `\n${readFileSync(join(folder, file), 'utf8').trim()}\n`
  return `${name} ${version}\nLicence: ${license}\n${text}`
}
