// The lines of docs/guide/connect.md, by section: files (a block whose language is followed by a path) and shell commands.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export type Section = { files: { path: string; text: string }[]; commands: string[] }

const page = new URL('../../docs/guide/connect.md', import.meta.url)
const address = 'http://127.0.0.1:4117'

export function sectionsOf(text = readFileSync(page, 'utf8')): Map<string, Section> {
  const sections = new Map<string, Section>()
  for (const part of text.split(/^## /m).slice(1)) {
    const section: Section = { files: [], commands: [] }
    for (const [, language, path, body = ''] of part.matchAll(/^```(\w+)(?: (\S+))?\n([\s\S]*?)^```$/gm)) {
      if (path !== undefined) section.files.push({ path, text: body })
      else if (language === 'sh') section.commands.push(body)
    }
    sections.set(part.slice(0, part.indexOf('\n')).trim(), section)
  }
  return sections
}

/** Writes the files of a section; `~` is the home folder, other paths are in the working folder. */
export function writeFiles({ files }: Section, home: string, folder: string, url: string): void {
  for (const { path, text } of files) {
    const file = path.startsWith('~/') ? join(home, path.slice(2)) : join(folder, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text.replaceAll(address, url))
  }
}

export function commandOf({ commands }: Section, url: string): string {
  return commands.join('\n').replaceAll(address, url)
}
