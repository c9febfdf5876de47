/** The form of a length of time, for the API server. */
export const durationForm = { pattern: '^([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h))+$', maxLength: 64 };
