// A process that never stops exchanging names in a folder: a folder for a link that leads out, a file for such a link, and a
// folder that is moved out and back. It prints a line once it has begun, and ends with its standard input.
import { renameSync, rmSync } from 'node:fs'

const [root = '', outside = ''] = process.argv.slice(2)

/** `name` is by turns what it is and what `name.link` is. */
function swap(name: string): void {
  rename(`${root}/${name}`, `${root}/${name}.kept`)
  rename(`${root}/${name}.link`, `${root}/${name}`)
  rename(`${root}/${name}`, `${root}/${name}.link`)
  rename(`${root}/${name}.kept`, `${root}/${name}`)
}

/** Whoever writes makes a folder that is missing just then: it gives way. */
function rename(from: string, to: string): void {
  for (let left = 1000; ; left--)
    try {
      renameSync(from, to)
      return
    } catch (error) {
      if (left === 0) throw error
      giveWay(to)
    }
}

function giveWay(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true })
  } catch {
    // Something was put into it just then: it is tried again.
  }
}

function moveOut(name: string): void {
  rename(`${root}/${name}`, `${outside}/${name}`)
  rename(`${outside}/${name}`, `${root}/${name}`)
}

process.stdin.on('end', () => process.exit(0)).resume()
let isFirst = true
function round(): void {
  for (let count = 0; count < 20; count++) {
    swap('folder')
    swap('file')
    moveOut('wanderer')
  }
  if (isFirst) process.stdout.write('swapping\n')
  isFirst = false
  setTimeout(round, 1)
}
round()
