import { z } from 'zod';

/** A share of all requests, from 0.0 to 1.0. */
export const share = (description: string) => z.number().min(0).max(1).meta({ description });

/** Does this request belong to the share? */
export const drawn = (part: number): boolean => part >= 1 || (part > 0 && Math.random() < part);
