// Finds the alpha-2 code of a country that a file names by its alpha-3 code or by its name, in the five languages of `languages`.
// A name that two countries have is not accepted.

/**
 * The assigned alpha-3 codes of ISO 3166-1, joined. If an alpha-3 code does not begin with its alpha-2 code, the last letter or
 * both letters of the alpha-2 code are before it in lower case.
 */
const codes =
  'dANDeAREAFGgATGAIAALBmARMoAGOqATAARGASMtAUTAUSwABWxALAAZEaBIHbBRBdBGDBELBFABGRBHRiBDIjBENBLMBMUnBRNBOLqBESBRAsBHSBTN' +
  'BVTBWAyBLRzBLZCANCCKdCODfCAFgCOGCHECIVkCOKlCHLCMRnCHNCOLCRICUBvCPVwCUWCXRCYPCZEDEUDJIkDNKDMADOMDZAECUeESTEGYhESHERIE' +
  'SPETHFINFJIkFLKmFSMoFROFRAGABGBRdGRDGEOfGUFGGYGHAGIBlGRLGMBnGINpGLPqGNQGRCgsSGSGTMGUMwGNByGUYHKGHMDHNDHRVHTIHUNIDNeI' +
  'RLlISRIMNINDIOTqIRQIRNISLITAJEYmJAMJORJPNKENKGZKHMKIRkmCOMKNAkpPRKrKORKWTkyCYMzKAZLAOLBNLCALIELKArLBRLSOLTULUXLVAyLB' +
  'YMARMCOMDAeMNEfMAFgMDGMHLMKDMLIMMRMNGoMACpMNPqMTQMRTMSRtMLTMUSvMDVMWIxMEXMYSzMOZNAMNCLNERNFKNGANICNLDNORNPLNRUuNIUNZ' +
  'LOMNPANPERfPYFgPNGPHLkPAKlPOLpmSPMnPCNPRIPSEtPRTwPLWyPRYQATREUROUrsSRBRUSRWASAUbSLBcSYCSDNeSWESGPSHNiSVNSJMkSVKSLESM' +
  'RnSENSOMrSURSSDSTPvSLVSXMSYRzSWZTCAdTCDtfATFTGOTHATJKTKLTLSmTKMnTUNTONrTURTTOvTUVTWNTZAaUKRUGAUMIUSAyURYUZBVATVCTVEN' +
  'VGBVIRVNMVUTfWLFWSMYEMytMYTZAFZMBZWE';

export const alpha2ByAlpha3: ReadonlyMap<string, string> = new Map(
  Array.from(codes.matchAll(/([a-z]*)(.{3})/g), ([, last = '', alpha3 = '']) => [
    alpha3,
    (alpha3.slice(0, 2 - last.length) + last).toUpperCase(),
  ]),
);

const languages = ['en', 'de', 'fr', 'es', 'it'];
/** Names of countries that people use, but that Unicode does not have. */
const others: Readonly<Record<string, string>> = {
  'czech republic': 'CZ',
  'great britain': 'GB',
  großbritannien: 'GB',
  'korea, republic of': 'KR',
  macedonia: 'MK',
  'russian federation': 'RU',
  'slovak republic': 'SK',
  'the netherlands': 'NL',
  turkey: 'TR',
  'tschechische republik': 'CZ',
  'united states of america': 'US',
  'viet nam': 'VN',
};

/** Names that people use for more than one country. */
const ambiguous = ['congo', 'kongo', 'korea', 'corea', 'corée'];

/** The code of a country by its name; undefined if no country, or more than one, has it. */
export function alpha2ByName(name: string): string | undefined {
  names ??= namesOfCountries();
  return names.get(name.toLowerCase());
}

/** The codes of countries by name. The map is made at its first use, because this takes some milliseconds. */
let names: ReadonlyMap<string, string> | undefined;

function namesOfCountries(): ReadonlyMap<string, string> {
  const found = new Map(Object.entries(others));
  const shared = new Set<string>();
  for (const language of languages) {
    const namesIn = new Intl.DisplayNames([language], { type: 'region', fallback: 'none' });
    for (const code of alpha2ByAlpha3.values()) {
      const name = namesIn.of(code)?.toLowerCase();
      if (name === undefined) continue;
      if ((found.get(name) ?? code) !== code) shared.add(name);
      found.set(name, code);
    }
  }
  for (const name of [...shared, ...ambiguous]) found.delete(name);
  return found;
}
