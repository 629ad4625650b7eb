// The lines of a file or stream, without holding more of it than one line.

export class LineTooLongError extends Error {
  override readonly name = 'LineTooLongError'
}

/** Lines end with LF. The last one may lack it. Throws LineTooLongError if one has more than `maxBytes`. */
export async function* linesIn(
  source: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<string, void, undefined> {
  let held: Uint8Array[] = []
  let size = 0
  const take = (last: Uint8Array): string => {
    const line = Buffer.concat([...held, last]).toString('utf8')
    held = []
    size = 0
    return line
  }
  for await (const piece of source) {
    let from = 0
    for (let end = piece.indexOf(10); end >= 0; end = piece.indexOf(10, from)) {
      yield take(piece.subarray(from, end))
      from = end + 1
    }
    held.push(piece.subarray(from))
    size += piece.length - from
    if (size > maxBytes) throw new LineTooLongError(`A line has more than ${maxBytes} bytes.`)
  }
  if (size > 0) yield take(new Uint8Array())
}
