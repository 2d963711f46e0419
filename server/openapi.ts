/** The version of the interface, not of the package: it changes when a caller must. */
export const interfaceVersion = "0.1.0";
