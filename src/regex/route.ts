import { regexLimits } from './limits.ts';
import { compileRegex, type Regex } from './regex.ts';

/** The expressions of one route, whose sizes are bounded together. */
export class RouteExpressions {
  private left: number = regexLimits.routeInstructions;

  /** @throws Error for a text that is not an expression, one that is too large, or one too many */
  add(source: string): Regex {
    const regex = compileRegex(source);
    this.left -= regex.size;
    if (this.left < 0)
      throw new Error(
        `too many: the programs of all regular expressions of a route may have ${regexLimits.routeInstructions} instructions`,
      );
    return regex;
  }
}
