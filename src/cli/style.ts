// Colours, only on a terminal and not with NO_COLOR. Text from elsewhere goes through `printable` first, so these are the
// only escape codes that are written.
import type { WriteStream } from 'node:tty'

export type Style = (text: string) => string
export type Styles = Record<'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'blue' | 'magenta' | 'cyan', Style>

const colourCodes: Record<keyof Styles, [number, number]> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  magenta: [35, 39],
  cyan: [36, 39],
}

export function wantsColour(stream: Pick<WriteStream, 'isTTY'>, env = process.env): boolean {
  if (env['NO_COLOR'] !== undefined && env['NO_COLOR'] !== '') return false
  if (env['FORCE_COLOR'] !== undefined && env['FORCE_COLOR'] !== '' && env['FORCE_COLOR'] !== '0') return true
  return stream.isTTY === true && env['TERM'] !== 'dumb'
}

export function styles(colour: boolean): Styles {
  const style = ([on, off]: [number, number]): Style =>
    colour ? text => (text === '' ? '' : `\u001b[${on}m${text}\u001b[${off}m`) : text => text
  return {
    bold: style(colourCodes.bold),
    dim: style(colourCodes.dim),
    red: style(colourCodes.red),
    green: style(colourCodes.green),
    yellow: style(colourCodes.yellow),
    blue: style(colourCodes.blue),
    magenta: style(colourCodes.magenta),
    cyan: style(colourCodes.cyan),
  }
}
