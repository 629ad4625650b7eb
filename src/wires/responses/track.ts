// What has been shown of a text that a model gives in pieces. A model step may start over: what it then says again is not
// shown twice, and what was shown cannot be taken back, so a step that says something else breaks the stream.

export class Diverged extends Error {
  override readonly name = 'Diverged'
}

export class Track {
  #shown = ''
  #at = 0

  get shown(): string {
    return this.#shown
  }

  /** The part of this piece that is news. */
  take(piece: string): string {
    if (this.#at === this.#shown.length) {
      this.#shown += piece
      this.#at += piece.length
      return piece
    }
    const repeated = this.#shown.slice(this.#at, this.#at + piece.length)
    if (!piece.startsWith(repeated)) throw new Diverged()
    const fresh = piece.slice(repeated.length)
    this.#shown += fresh
    this.#at += piece.length
    return fresh
  }

  /** What is still to be shown once the whole is known. */
  rest(whole: string): string {
    if (!whole.startsWith(this.#shown)) throw new Diverged()
    const rest = whole.slice(this.#shown.length)
    this.#shown = whole
    this.#at = whole.length
    return rest
  }

  restart(): void {
    this.#at = 0
  }
}
