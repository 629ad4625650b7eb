// The views of a session. The timeline is also a strip above the transcript, where there is room.
export const views = ['transcript', 'timeline', 'log', 'vendors', 'usage'] as const
export type ViewName = (typeof views)[number]
