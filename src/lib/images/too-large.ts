/** A picture would take more memory than it may, once it is decoded. */
export class TooLarge extends Error {}
