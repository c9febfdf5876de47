export { cachedBytes } from './caches.ts';
export { regexLimits } from './limits.ts';
export { RouteExpressions } from './route.ts';
export { compileRegex, compileUnits, quoted, type Regex, type Spend } from './regex.ts';
