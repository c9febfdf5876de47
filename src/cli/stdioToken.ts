/** Names the variable with the token, for routes that demand one. */
export const tokenVariable = 'PORTCULLIS_TOKEN';
