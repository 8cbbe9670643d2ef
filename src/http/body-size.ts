/** The size limit of one resource's body (D32). */
export const MAX_BODY_BYTES = 1024 * 1024;
