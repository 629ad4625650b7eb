// What an attacker does who has no key: exports with the hashes of the file made anew, and sealed files with other contents.
import { createHash } from 'node:crypto'
import { exportSessions } from '../../src/data/copies/export.ts'
import type { Store } from '../../src/engine/index.ts'
import { embed, readSealed, type Sealed } from '../../src/proof/sealed-form.ts'

export async function exportText(store: Store): Promise<string> {
  let text = ''
  await exportSessions(
    store,
    () => true,
    async line => {
      text += line
    },
  )
  return text
}

/** The file with the hashes of its sessions and of the whole made anew. */
export function hashAnew(text: string): string {
  const whole = createHash('sha256')
  let session = createHash('sha256')
  const lines = text.split('\n').slice(0, -1)
  return lines
    .map(line => {
      if (/^\{"session":/.test(line)) session = createHash('sha256')
      const own = /^\{"end":|^\{"sessions":/.test(line)
        ? line.replace(
            /"sha256":"[^"]*"/,
            `"sha256":"${(line.startsWith('{"end"') ? session : whole).copy().digest('hex')}"`,
          )
        : line
      session.update(`${own}\n`)
      whole.update(`${own}\n`)
      return `${own}\n`
    })
    .join('')
}

/** The same page with another log in it. */
export function withSealed(html: string, change: (sealed: Sealed) => void): string {
  const sealed = readSealed(html)
  const before = embed(sealed)
  change(sealed)
  return html.replace(before, () => embed(sealed))
}
