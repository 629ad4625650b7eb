/** Each drawing: its SVG file, and what stands in it when it is drawn from its source. */
export function drawings(): { file: string; svg: string }[]
