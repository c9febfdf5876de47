/** The client library, in a file of its own for loading on first use: a bundle finds its names only at the top of a file. */
export { Redis } from 'ioredis';
